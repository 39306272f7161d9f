{-# LANGUAGE OverloadedStrings #-}
{- | Reads orders.
It writes none.
-}
module Orders
  ( Order (..)
  , open
  ) where

import qualified Data.Map as Map
import Data.Maybe (mapMaybe)

-- | One order.
data Order = Order
  { number :: Int
  , state :: State
  }
  deriving (Eq, Show)

data State = Open | Paid
  deriving (Eq, Show)

open :: [Order] -> [Order]
open orders =
  [ order
  | order <- orders
  , state order == Open
  ]

class Priced a where
  price :: a -> Double
  price _ = 0

instance Priced Order where
  price order
    | number order > 10 = 2
    | otherwise = 1

main :: IO ()
main = do
  let orders = [Order 1 Open]
  mapM_ print (open orders)
  case orders of
    [] -> putStrLn "none"
    _ -> putStrLn "some"
