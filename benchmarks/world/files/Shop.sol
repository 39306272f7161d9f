// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import "./Owned.sol";

/// @title A shop
contract Shop is Owned {
    enum State { Open, Paid }

    struct Order {
        uint256 number;
        State state;
    }

    mapping(uint256 => Order) private orders;

    event Paid(
        uint256 indexed number,
        address who
    );

    modifier known(uint256 number) {
        require(orders[number].number != 0, "unknown");
        _;
    }

    /* Pays
       an order. */
    function pay(uint256 number)
        external
        payable
        known(number)
    {
        Order storage order = orders[number];
        if (order.state == State.Open) {
            order.state = State.Paid;
            emit Paid(number, msg.sender);
        }
    }
}
