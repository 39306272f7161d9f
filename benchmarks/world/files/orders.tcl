# Reads orders.
package require Tcl 8.6

namespace eval orders {
    variable file "orders.csv"
    variable limit 100
}

proc orders::open_ones {{path ""}} {
    variable file
    if {$path eq ""} {
        set path $file
    }
    set found {}
    set channel [open $path]
    while {[gets $channel line] >= 0} {
        if {[string match "*open" $line]} {
            lappend found $line
        }
    }
    close $channel
    return $found
}

set help {usage: orders
# no comment
}

foreach each [orders::open_ones] {
    puts [format "%-20s %s" \
        $each \
        [string length $each]]
}

switch -- $limit {
    100 {
        puts "many"
    }
    default {
        puts "few"
    }
}
