# language: en
@shop
Feature: Checkout
  A customer pays for what is in the basket.

  Background:
    Given a shop with these goods:
      | name | price |
      | pen  | 2.00  |
      | ink  | 7.50  |

  Scenario: Paying
    Given a basket with 2 pens
    When the customer pays 4.00
    Then the order is "paid"

  Scenario Outline: Too little
    When the customer pays <amount>
    Then the answer is:
      """
      That is too little.
      # no comment
      """

    Examples:
      | amount |
      | 1.00   |
      | 3.99   |
