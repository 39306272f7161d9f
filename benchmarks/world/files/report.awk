#!/usr/bin/awk -f
# Sums what each customer ordered.
BEGIN {
    FS = ","
    limit = 100
}
NR > 1 {
    sum[$2] += $3
    if ($3 > limit &&
        $4 == "open") {
        large++
    }
}
END {
    for (name in sum) {
        printf "%-20s %8.2f\n", \
            name, \
            sum[name]
    }
    print large + 0, "large ones"
}
