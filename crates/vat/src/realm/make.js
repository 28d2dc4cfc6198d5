  // A program of modules: after all of them have run, the realm calls the function `make` of the first one.
  // Hooks run after the program is cancelled and before its heap is freed. Messages that they send no longer go out.
  const contextOf = (id, own) => {
    const hooks = [];
    let done = false, tellDisposed;
    const disposed = new ThePromise(resolve => { tellDisposed = resolve; });
    freeze(disposed);
    const dispose = async () => {
      done = true;
      // No hook can be added any more, because `done` is set.
      for (let at = 0; at < hooks.length; at += 1) {
        const hook = hooks[at];
        try {
          await hook();
        } catch (error) {
          // A hook that fails does not stop the other hooks.
        }
      }
      tellDisposed();
    };
    then(cancelled, ignore, dispose);
    return Far('Context', {
      id: () => id,
      cancel: (reason = undefined) => eventually(own, CALL, 'cancel', [reason]),
      whenCancelled: () => cancelled,
      whenDisposed: () => disposed,
      addDisposalHook: hook => {
        if (typeof hook !== 'function') throw new TheTypeError('a disposal hook is a function');
        if (done) throw new TheError('it is cancelled already: no hook will run');
        hooks[hooks.length] = hook;
      },
    });
  };
  const make = (answer, loaded, namespace, given, names, values) => {
    const [id, powers, own] = given;
    const env = {};
    for (let at = 0; at < names.length; at += 1) defineProperty(env, names[at], { value: values[at], enumerable: true });
    const options = harden({ env, state: own });
    reply(answer, then(loaded, () => {
      const { make: made } = namespace;
      if (typeof made !== 'function') throw new TheTypeError('the first module exports no function `make`');
      return made(powers, contextOf(id, own), options);
    }));
  };
