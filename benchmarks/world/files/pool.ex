defmodule Shop.Pool do
  @moduledoc """
  A pool of connections.

  # no comment
  It gives one at a time.
  """
  use GenServer

  alias Shop.{Connection, Log}

  @timeout 5_000
  @states ~w(open closed)a

  @doc "Starts the pool."
  @spec start_link(keyword()) :: GenServer.on_start()
  def start_link(options) do
    GenServer.start_link(__MODULE__, options, name: __MODULE__)
  end

  @impl true
  def init(options) do
    size = Keyword.get(options, :size, 4)
    {:ok, %{free: Enum.map(1..size, fn _ -> Connection.open() end)}}
  end

  @impl true
  def handle_call(:get, _from, %{free: [first | rest]} = state) do
    case Connection.alive?(first) do
      true ->
        {:reply, {:ok, first}, %{state | free: rest}}

      false ->
        Log.warn("dead")
        {:reply, {:error, :dead}, state}
    end
  end

  def handle_call(:get, _from, state), do: {:reply, {:error, :empty}, state}
end
