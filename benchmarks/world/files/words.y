%{
/* Reads sums. */
#include <stdio.h>
int yylex(void);
%}
%token NUMBER
%left '+' '-'
%%
lines:
    /* nothing */
  | lines sum '\n'  { printf("%d\n", $2); }
  ;

sum:
    NUMBER
  | sum '+' sum {
      $$ = $1 + $3;
    }
  | sum '-' sum {
      $$ = $1 - $3;
    }
  ;
%%
int main(void)
{
  return yyparse();
}
