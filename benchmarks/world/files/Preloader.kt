package org.example.shop

import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow

/**
 * Loads items ahead of the visible ones.
 *
 * @param size how large each request is
 * @param count how many items are loaded ahead
 */
@Suppress("unused")
class Preloader(
    private val size: Int,
    private val count: Int = 3,
) {
    private val seen = mutableSetOf<Int>()

    @Throws(LimitException::class)
    suspend fun preload(first: Int): List<Item> {
        val wanted = (first until first + count)
            .filter { it !in seen }
            .map { load(it) }
        seen += first
        delay(10)
        return wanted
    }

    private fun load(number: Int): Item = when {
        number < 0 -> throw LimitException(number)
        number > size -> Item.None
        else -> Item.Some(
            number,
            """
            text of $number
            // no comment
            """.trimIndent(),
        )
    }

    companion object {
        const val LIMIT = 50
    }
}

sealed interface Item {
    data object None : Item
    data class Some(val number: Int, val text: String) : Item
}
