(* Reads orders.
   It writes none. *)
open Printf

type state =
  | Open
  | Paid of float

type order = {
  number : int;
  state : state;
}

exception Late of int

let help = {|usage: orders
(* no comment *)
|}

let is_open order =
  match order.state with
  | Open -> true
  | Paid amount when amount > 100. ->
    printf "large\n";
    false
  | Paid _ -> false

module type SHOP = sig
  val orders : order list
end

module Make (Shop : SHOP) = struct
  let count () =
    List.length (List.filter is_open Shop.orders)
end

let rec sum = function
  | [] -> 0
  | first :: rest ->
    let more = sum rest in
    first.number + more

let () =
  try print_endline help with
  | Late days -> printf "%d\n" days
