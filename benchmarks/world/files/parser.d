/// Reads words.
module parser;

import std.algorithm : map;
import std.stdio;

/+ A comment
   /+ in a comment +/
+/
struct Word
{
    string text;
    int line;
}

enum help = q"EOS
usage: parser
// no comment
EOS";

Word[] read(string name)
{
    Word[] found;
    int line;
    foreach (text; File(name).byLine)
    {
        ++line;
        if (text.length)
        {
            found ~= Word(text.idup, line);
        }
        else
        {
            continue;
        }
    }
    return found;
}

unittest
{
    assert(help.length > 3);
}
