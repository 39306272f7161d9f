package shop

import scala.concurrent.{ExecutionContext, Future}

/** Reads orders.
  * It writes none.
  */
trait Orders {
  def all: List[Order]
}

case class Order(
    number: Int,
    state: String = "open"
)

object Orders extends Orders {
  private val text = """line one
line two at column zero
// no comment
"""

  override def all: List[Order] =
    text.linesIterator
      .zipWithIndex
      .map { case (_, number) =>
        Order(number)
      }
      .toList

  def find(number: Int)(implicit ec: ExecutionContext): Future[Option[Order]] = Future {
    all.find(_.number == number) match {
      case Some(order) if order.state == "open" =>
        Some(order)
      case _ =>
        None
    }
  }
}
