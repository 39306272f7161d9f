module Meters

export Gauge, add!

using Statistics: mean

"""
    Gauge(name)

Holds a value.
"""
mutable struct Gauge{T<:Real}
    name::String
    value::T
end

#= Several lines
of a comment =#
Gauge(name::AbstractString) = Gauge{Float64}(name, 0.0)

function add!(gauge::Gauge, amount; limit = Inf)
    before = gauge.value
    if before + amount > limit
        throw(ArgumentError("too much"))
    elseif amount < 0
        @warn "less" amount
    end
    gauge.value += amount
    return before
end

macro timed(body)
    quote
        local begun = time()
        local result = $(esc(body))
        println(time() - begun)
        result
    end
end

for name in ("one", "two")
    add!(Gauge(name), 1)
end

end
