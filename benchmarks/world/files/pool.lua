-- A pool of connections.
local Pool = {}
Pool.__index = Pool

--[[ Options:
size     how many
timeout  seconds
]]
local defaults = {
  size = 4,
  timeout = 30,
}

function Pool.new(options)
  local self = setmetatable({}, Pool)
  self.free = {}
  self.options = setmetatable(options or {}, { __index = defaults })
  return self
end

local help = [[
usage: pool
-- no comment
]]

function Pool:get()
  for i = #self.free, 1, -1 do
    local found = table.remove(self.free, i)
    if found:alive() then
      return found
    end
  end
  repeat
    local made, why = connect(self.options.timeout)
    if not made then
      return nil, why
    end
  until made
  return made
end

return Pool
