  // `console` writes lines into the journal of the run. No code of a guest runs while the realm builds a line.
  const line = args => {
    let text = '';
    for (let at = 0; at < args.length && at < 100; at += 1) {
      const value = args[at];
      text += `${at > 0 ? ' ' : ''}${typeof value === 'string' ? value : show(value, 0)}`;
    }
    return text;
  };
  const console = {};
  for (const level of ['debug', 'log', 'info', 'warn', 'error']) {
    console[level] = { [level]: (...args) => host.console(level, line(args)) }[level];
  }
