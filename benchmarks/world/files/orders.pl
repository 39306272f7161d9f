#!/usr/bin/perl
# Reads orders.
use strict;
use warnings;

my %state = (
    open => 1,
    paid => 2,
);

=head1 NAME

orders - reads orders

=head2 open_ones

Those that nobody paid.

=cut

sub open_ones {
    my ($file) = @_;
    open my $handle, '<', $file
        or die "no way to read $file: $!";
    my @found;
    while (my $line = <$handle>) {
        chomp $line;
        next unless $line =~ m{
            ^\d+ ,    # the number
            .* open $
        }x;
        push @found, $line;
    }
    return @found;
}

print <<"EOT";
usage: orders FILE
# no comment
EOT

my $text = q{first line
last line};

foreach my $each (sort keys %state) {
    if ($state{$each} > 1) {
        print "$each\n";
    } else {
        print "-\n";
    }
}

__END__
what stands here is never read
