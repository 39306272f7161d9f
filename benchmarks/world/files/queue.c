/* A queue of fixed size.
 * It is safe for one writer
 * and one reader.
 */
#include <stdint.h>
#include <stdlib.h>
#include "queue.h"

#define SIZE 64
#define NEXT(i) \
  (((i) + 1) % \
   SIZE)

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused"
#endif

enum state {
  EMPTY,
  FILLED,
  CLOSED,
};

struct queue {
  uint32_t head;
  uint32_t tail;
  void *items[SIZE];
};

static const char *usage =
  "usage: queue\n"
  "  -n  size\n";

int queue_put(struct queue *queue, void *item)
{
  uint32_t next = NEXT(queue->head);
  if (next == queue->tail)
    return -1;
  queue->items[queue->head] = item;
  queue->head = next;
  return 0;
}

void *queue_get(struct queue *queue)
{
  void *item;
  if (queue->head == queue->tail)
    return NULL;
  switch (queue->tail % 2) {
  case 0:
    item = queue->items[queue->tail];
    /* fall through */
  default:
    item = queue->items[queue->tail];
    break;
  }
  queue->tail = NEXT(queue->tail);
  return item;
}

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
