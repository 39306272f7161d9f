# Greets people.
use std log

def greet [
    name: string  # who
    --loud        # in capitals
] {
    let text = $"hello ($name)"
    if $loud {
        $text | str upcase
    } else {
        $text
    }
}

def main [...names: string] {
    log info "begin"
    $names
    | each { |name| greet $name }
    | str join "\n"
}
