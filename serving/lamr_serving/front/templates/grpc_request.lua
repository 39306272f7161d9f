-- What a gRPC request asks for, read so strictly that no reader of the same bytes finds anything else in them.
--
-- The sample `lua.grpc_request(KIND)` is the name of the model that the request's message names; "-" for a message that
-- may name none; or "!" and what is wrong with it. It has no value where this program fails, so a request may pass
-- only on a value that is right. KIND is a key of MESSAGES. The file's arguments are the parameters of ModelInfer that
-- a client may send.
--
-- Protobuf lets a field stand twice (the last one counts), in any order, with unknown ones between, with lengths in more
-- bytes than they need, and in groups; Triton takes all of that. Our client's libraries write none of it.

local allowed = {}
for _, name in ipairs({...}) do allowed[name] = true end

local MOST_FIELDS = 1000 -- of a request, with those of all that it holds; our client sends about 20
local byte, sub = string.byte, string.sub

local function refuse(why) error({why = why}) end

-- A number of up to 28 bits in as few bytes as it needs, and the place behind it.
local function varint(text, at, last)
    local value, shift = 0, 0
    for place = at, math.min(at + 3, last) do
        local part = byte(text, place)
        value = value | (part & 0x7f) << shift
        if part < 0x80 then
            if part == 0 and place > at then break end
            return value, place + 1
        end
        shift = shift + 7
    end
    refuse("a number in it is too large, cut off, or longer than it need be")
end

-- Read the fields of a message from one place to another. `fields` has a reader for each tag that may stand there: one
-- byte of a field's number (up to 15) and its form, VARINT or BYTES. A reader takes the text, a field's first and last
-- place (of a VARINT, twice its value) and the state of the message.
local VARINT, BYTES = 0, 2
local function tag(number, form) return number << 3 | form end

local function walk(text, at, last, fields, state)
    local request = state.request
    while at <= last do
        request.left = request.left - 1
        if request.left < 0 then refuse("it has too many fields") end
        local what = byte(text, at)
        local reader = fields[what]
        if not reader then refuse(fields.why or "it has a field that isn't known here") end
        local value, behind = varint(text, at + 1, last)
        if what & 7 == VARINT then
            reader(text, value, value, state, what)
            at = behind
        else
            at = behind + value
            if at > last + 1 then refuse("a field of it is longer than the message") end
            reader(text, behind, at - 1, state, what)
        end
    end
    return state
end

local function once(_, _, _, state, what)
    if state[what] then refuse("a field stands in it twice") end
    state[what] = true
end

local function often() end

local function model(text, at, last, state, what)
    once(text, at, last, state, what)
    local name = sub(text, at, last)
    if not name:find("^%w[%w_.-]*$") or #name > 128 then refuse("it names no model") end
    state.request.model = name
end

-- Triton's Python backend counts elements in 64 bits, and a shape that overflows them ends the process. No element takes
-- less than a byte.
local function dimension(_, value, _, state)
    state.elements = state.elements * math.max(1, value)
    if state.elements > state.request.size then refuse("a shape has more elements than the message has bytes") end
end

local function dimensions(text, at, last, state)
    while at <= last do
        local value
        value, at = varint(text, at, last)
        state.request.left = state.request.left - 1
        if state.request.left < 0 then refuse("it has too many fields") end
        dimension(text, value, value, state)
    end
end

-- Parameters of tensors name regions of shared memory, which belong to whoever registered them.
local INPUT = {
    [tag(1, BYTES)] = once, -- name
    [tag(2, BYTES)] = once, -- datatype
    [tag(3, BYTES)] = dimensions, -- shape, packed
    [tag(3, VARINT)] = dimension, -- shape, number by number
    [tag(5, BYTES)] = once, -- contents
    why = "an input has parameters or fields that aren't for clients",
}
local OUTPUT = {
    [tag(1, BYTES)] = once, -- name
    why = "an output has parameters or fields that aren't for clients",
}

local function key(text, at, last, state, what)
    once(text, at, last, state, what)
    state.key = sub(text, at, last)
end
local PARAMETER = {[tag(1, BYTES)] = key, [tag(2, BYTES)] = once}

local function input(text, at, last, state)
    walk(text, at, last, INPUT, {request = state.request, elements = 1})
end

local function output(text, at, last, state)
    walk(text, at, last, OUTPUT, {request = state.request})
end

local function parameter(text, at, last, state)
    local found = walk(text, at, last, PARAMETER, {request = state.request})
    if not allowed[found.key] then refuse("it has a parameter that isn't for clients") end
end

local ABOUT_MODEL = {
    [tag(1, BYTES)] = model,
    [tag(2, BYTES)] = once, -- version
}
local MESSAGES = {
    nothing = {},
    model = ABOUT_MODEL,
    infer = {
        [tag(1, BYTES)] = model,
        [tag(2, BYTES)] = once, -- version
        [tag(3, BYTES)] = once, -- id
        [tag(4, BYTES)] = parameter,
        [tag(5, BYTES)] = input,
        [tag(6, BYTES)] = output,
        [tag(7, BYTES)] = often, -- raw contents
    },
}

local function read(body, kind)
    local fields = MESSAGES[kind]
    if #body < 5 then refuse("it has no message") end
    local flag, size = string.unpack(">BI4", body)
    if flag == 1 then refuse("compressed") end
    if flag ~= 0 then refuse("its first byte is neither 0 nor 1") end
    if size ~= #body - 5 then refuse("it isn't one message of the length that it says") end
    local request = {left = MOST_FIELDS, size = size}
    walk(body, 6, #body, fields, {request = request})
    if kind == "nothing" then return "-" end
    return request.model or refuse("it names no model")
end

core.register_fetches("grpc_request", function(txn, kind)
    local body = txn.f:req_body()
    local fine, said = pcall(read, body or "", kind)
    if fine then return said end
    if type(said) == "table" then return "!" .. said.why end
    core.Alert("grpc_request: " .. tostring(said))
end)
