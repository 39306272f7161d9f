%% A pool of connections.
-module(pool).
-behaviour(gen_server).

-export([start_link/1, get/0]).
-export([init/1, handle_call/3]).

-record(state, {
    free = [] :: [pid()],
    limit = 4
}).

-define(TIMEOUT, 5000).

start_link(Limit) ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, Limit, []).

get() ->
    gen_server:call(?MODULE, get, ?TIMEOUT).

init(Limit) ->
    {ok, #state{limit = Limit}}.

handle_call(get, _From, #state{free = [First | Rest]} = State) ->
    case is_process_alive(First) of
        true ->
            {reply, {ok, First}, State#state{free = Rest}};
        false ->
            {reply, {error, dead}, State}
    end;
handle_call(get, _From, State) ->
    {reply, {error, empty}, State}.
