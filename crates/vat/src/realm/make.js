  // A program of modules: once all of them have run, the first one's `make` is called.
  const make = (answer, loaded, namespace, powers, context, names, values) => {
    const env = {};
    for (let at = 0; at < names.length; at += 1) defineProperty(env, names[at], { value: values[at], enumerable: true });
    const options = harden({ env });
    reply(answer, then(loaded, () => {
      const { make: made } = namespace;
      if (typeof made !== 'function') throw new TheTypeError('the first module exports no function `make`');
      return made(powers, context, options);
    }));
  };
