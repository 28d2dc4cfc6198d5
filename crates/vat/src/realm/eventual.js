  // Eventual sends. E(x).m(…) runs nothing at once, and an error becomes a rejected promise. Only `noPromise` throws.
  const CALL = 0, APPLY = 1, GET = 2;
  const rejection = reason => {
    const promise = ThePromise.reject(reason);
    then(promise, ignore, ignore);
    return promise;
  };
  const methodNames = target => {
    const names = new TheSet();
    for (let at = target; isObject(at) && at !== objectPrototype && at !== functionPrototype; at = getPrototypeOf(at)) {
      for (const key of ownKeys(at)) {
        const property = getOwnPropertyDescriptor(at, key);
        if (typeof key === 'string' && property !== undefined && typeof property.value === 'function') names.add(key);
      }
    }
    return harden([...names].sort());
  };
  const propertyOf = (target, name) => {
    for (let at = Object(target); isObject(at) && at !== objectPrototype && at !== functionPrototype; at = getPrototypeOf(at)) {
      const property = getOwnPropertyDescriptor(at, name);
      if (property !== undefined) return property;
    }
    return undefined;
  };
  const shownName = name => (typeof name === 'symbol' ? `[${TheSymbol.prototype.toString.call(name)}]` : JSON.stringify(name));
  const invoke = (target, verb, name, args) => {
    if (verb === APPLY) {
      if (typeof target !== 'function') {
        throw new TheTypeError(`Cannot invoke target as a function; typeof target is "${typeName(target)}"`);
      }
      return apply(target, undefined, args);
    }
    if (target === undefined || target === null) {
      throw new TheTypeError(`Cannot deliver ${shownName(name)} to target; typeof target is "${target === null ? 'null' : 'undefined'}"`);
    }
    const property = propertyOf(target, name);
    if (verb === GET) return property === undefined ? undefined : property.value;
    if (property === undefined || typeof property.value !== 'function') {
      if (name === '__getMethodNames__') return methodNames(target);
      const names = isObject(target) ? ` has ${JSON.stringify(methodNames(target))}` : '';
      throw new TheTypeError(property === undefined
        ? `target has no method ${shownName(name)},${names}`
        : `invoked method ${shownName(name)} is not a function; it is a "${typeName(property.value)}"`);
    }
    return apply(property.value, target, args);
  };

  const transmit = (slot, verb, name, args, wanted) => {
    const question = host.send(slot, verb, name, args, wanted);
    return wanted ? promiseAt(`q${question}`) : undefined;
  };
  const send = (target, verb, name, args, wanted) => {
    const entry = isObject(target) ? entries.get(target) : undefined;
    if (entry !== undefined) {
      if (!entry.settled) return transmit(entry.slot, verb, name, args, wanted);
      return entry.good ? send(entry.value, verb, name, args, wanted) : rejection(entry.value);
    }
    harden(args);
    // The target has a `then` method but is no plain promise: make it a plain one and wait for that first.
    if (isObject(target) && !isPlainPromise(target) && !farIface.has(target) && !isProxy(target) && typeof target.then === 'function') {
      return then(plainPromise(target), value => send(value, verb, name, args, true));
    }
    return then(isPlainPromise(target) ? target : ThePromise.resolve(undefined), isPlainPromise(target)
      ? value => (isObject(value) && entries.has(value) ? send(value, verb, name, args, true) : invoke(value, verb, name, args))
      : () => invoke(target, verb, name, args));
  };
  const eventually = (target, verb, name, args) => {
    try {
      return send(target, verb, name, args, true);
    } catch (error) {
      return rejection(error);
    }
  };
  const only = (target, verb, name, args) => {
    try {
      const sent = send(target, verb, name, args, false);
      if (sent !== undefined) then(sent, ignore, ignore);
    } catch (error) {
      // The caller of `sendOnly` wants no result, so it gets no error either.
    }
  };

  const refuse = what => () => { throw new TheTypeError(`${what} of E(…) cannot be changed`); };
  // Removes `name` and `length`, so that code can send methods with these names.
  const emptyTarget = () => {
    const target = (...args) => undefined;
    delete target.name;
    delete target.length;
    return target;
  };
  const proxyOf = (onGet, onApply) => new Proxy(emptyTarget(), freeze({
    __proto__: null,
    get: (_, name) => onGet(name),
    apply: (_, __, args) => onApply(args),
    has: () => true,
    set: refuse('a property'),
    defineProperty: refuse('a property'),
    deleteProperty: refuse('a property'),
    setPrototypeOf: refuse('the prototype'),
    preventExtensions: refuse('the properties'),
  }));
  // Code that awaits E(x) by mistake gets an error, or it would wait for ever: functions cannot be passed.
  const noPromise = args => {
    if (typeof args[0] === 'function' && !farIface.has(args[0])) {
      throw new TheTypeError('E(…) is no promise: call one of its methods');
    }
  };
  const sender = (target, via) => proxyOf(
    name => freeze({
      [name]: (...args) => {
        if (name === 'then') noPromise(args);
        return via(target, CALL, name, args);
      },
    }[name]),
    args => via(target, APPLY, undefined, args),
  );
  const E = target => sender(target, eventually);
  const eParts = {
    get: target => proxyOf(name => eventually(target, GET, name, []), () => rejection(new TheTypeError('E.get(…) is no function'))),
    sendOnly: target => sender(target, only),
    when: (value, good = undefined, bad = undefined) => then(plainPromise(value), good, bad),
    resolve: value => plainPromise(value),
  };
  for (const name of ownKeys(eParts)) defineProperty(E, name, { value: eParts[name], enumerable: true });

  // The functions below carry out requests of the host and answer them.
  const reply = (answer, result) => {
    if (!isObject(result)) {
      answers.set(answer, result);
      host.answer(answer, true, result, undefined);
      return;
    }
    const promise = isPlainPromise(result) ? result : plainPromise(result);
    answers.set(answer, promise);
    then(promise, value => host.answer(answer, true, value, undefined), reason => failed(answer, reason));
  };
  const stackText = reason => (isObject(reason) && host.isError(reason) ? apply(stackOf, reason, []) : undefined);
  const failed = (answer, reason) => host.answer(answer, false, reason, stackText(reason));
  const refused = (answer, reason) => {
    answers.set(answer, rejection(reason));
    failed(answer, reason);
  };

  // A direct eval parses the source in a scope that holds the endowments and the name `eval`. The name is the real
  // function for this one call only: `take` replaces it with `noEval` before the engine parses the source.
  const noEval = freeze(() => { throw new EvalError('eval is not available: there is no dynamic code in a vat'); });
  parseDirectly.take = () => {
    parseDirectly.swap(noEval);
    return parseDirectly.source;
  };
  const evaluate = (answer, scope, source, values) => {
    parseDirectly.values = values;
    parseDirectly.source = source;
    let result;
    try {
      result = scope(parseDirectly);
    } catch (error) {
      refused(answer, error);
      return;
    } finally {
      parseDirectly.values = parseDirectly.source = parseDirectly.swap = undefined;
    }
    reply(answer, result);
  };
  const deliver = (answer, kind, number, verb, name, args) => {
    const table = kind === 'v' ? exportsByNumber : answers;
    if (!table.has(number)) return false;
    const target = table.get(number);
    let result;
    try {
      result = isObject(target) && (isPlainPromise(target) || entries.has(target))
        ? send(target, verb, name, args, true)
        : invoke(target, verb, name, args);
    } catch (error) {
      if (answer !== undefined) refused(answer, error);
      return true;
    }
    if (answer !== undefined) reply(answer, result);
    else if (isObject(result)) then(plainPromise(result), ignore, ignore);
    return true;
  };
  const forget = number => { answers.delete(number); };
  let cancelVat;
  const cancelled = new ThePromise((_, reject) => { cancelVat = reject; });
  freeze(cancelled);
  then(cancelled, ignore, ignore);
  const cancel = reason => cancelVat(reason);
