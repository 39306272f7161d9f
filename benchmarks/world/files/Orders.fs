module Orders

open System

/// One order.
type Order =
    { Number: int
      State: State }

and State =
    | Open
    | Paid of decimal

(* What is
   open. *)
let isOpen order =
    match order.State with
    | Open -> true
    | Paid amount when amount > 100m ->
        printfn "large"
        false
    | Paid _ -> false

let help = """
usage: orders
// no comment
"""

let count orders =
    orders
    |> List.filter isOpen
    |> List.length

[<EntryPoint>]
let main args =
    if args.Length = 0 then
        printfn "%s" help
        1
    else
        0
