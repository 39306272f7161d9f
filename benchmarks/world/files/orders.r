# What was ordered in each week.
library(dplyr)

#' Sums orders.
#'
#' @param orders a data frame
#' @return one row a week
by_week <- function(orders,
                    state = "open") {
  orders |>
    filter(state == !!state) |>
    mutate(week = format(created, "%V")) |>
    group_by(week) |>
    summarise(
      count = n(),
      amount = sum(amount)
    )
}

text <- "first line
# no comment
last line"

if (nrow(orders) > 100) {
  message("many")
} else if (nrow(orders) == 0) {
  stop("none")
} else {
  message("few")
}

result <- lapply(seq_len(3), function(i) {
  i^2
})
