const std = @import("std");

/// A pool of connections.
pub const Pool = struct {
    free: std.ArrayList(u32),
    limit: usize = 4,

    const Self = @This();

    pub fn init(allocator: std.mem.Allocator) Self {
        return .{ .free = std.ArrayList(u32).init(allocator) };
    }

    // Gives one.
    pub fn get(self: *Self) !u32 {
        if (self.free.items.len == 0) {
            return error.Empty;
        }
        return self.free.pop();
    }
};

const help =
    \\usage: pool
    \\// no comment
    \\
;

const State = enum {
    open,
    closed,
};

test "a pool gives what it has" {
    var pool = Pool.init(std.testing.allocator);
    try pool.free.append(17);
    try std.testing.expectEqual(@as(u32, 17), try pool.get());
    switch (State.open) {
        .open => {},
        .closed => unreachable,
    }
}
