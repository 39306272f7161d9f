// Settings of all hosts.
local base = import 'base.libsonnet';
local names = ['one', 'two'];
{
  /* each host
     has a port */
  hosts: [
    {
      name: name,
      port: 8000,
      tags: ['web'],
    }
    for name in names
  ],
  note: |||
    Text of several lines.
    // no comment
  |||,
  level:: 'info',
  log: base.log {
    level: $.level,
  },
}
