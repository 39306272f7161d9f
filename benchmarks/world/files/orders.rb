# frozen_string_literal: true

require "csv"

module Shop
  # Reads orders.
  class Orders
    include Enumerable

    LIMITS = {
      small: 4,
      large: 64
    }.freeze

    attr_reader :all

    def initialize(file)
      @all = CSV.read(file, headers: true)
    end

    def each(&block)
      return enum_for(:each) unless block

      @all.each(&block)
    end

    def help
      <<~TEXT
        usage: orders
        # no comment
      TEXT
    end

    private

    def price(order)
      case order["state"]
      when "open" then 1
      when "paid"
        2
      else
        raise ArgumentError, "unknown state " \
                             "of #{order["number"]}"
      end
    rescue KeyError => e
      warn e.message
      0
    ensure
      @all.rewind
    end
  end
end

=begin
A comment
of several lines.
=end
puts Shop::Orders.new("orders.csv").count if $PROGRAM_NAME == __FILE__
