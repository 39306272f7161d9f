@extends('layout')
@section('content')
{{-- the list
     of users --}}
<ul class="users">
@foreach ($users as $user)
    <li
        class="{{ $user->active ? 'on' : 'off' }}"
    >
        {{ $user->name }}
        @if ($user->orders->count() > 0)
            <b>{{ $user->orders->count() }}</b>
        @else
            <i>none</i>
        @endif
    </li>
@endforeach
</ul>
@php
    $total = $users->sum(
        fn ($user) => $user->orders->count()
    );
@endphp
<p>{{ $total }}</p>
@endsection
