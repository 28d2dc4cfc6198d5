  // `M` makes patterns and guards as tagged values. The crate `passable` checks them, so errors are alike everywhere.
  const matcher = (name, payload) => makeTagged(`match:${name}`, payload);
  const limited = (name, parts, limits) => matcher(name, limits === undefined ? parts : [...parts, limits]);
  const kind = name => matcher('kind', name);
  const ANY = matcher('any', undefined);
  const STRING = matcher('string', []);
  const UNDEFINED = kind('undefined');
  const split = (name, required, optional, rest) => {
    if (rest !== undefined) return matcher(name, [required, optional, rest]);
    return matcher(name, optional === undefined ? [required] : [required, optional]);
  };
  const or = (...parts) => matcher('or', parts);
  const eq = key => (key === undefined ? UNDEFINED : key);
  const not = part => matcher('not', part);
  const arrayOf = (part = ANY, limits = undefined) => limited('arrayOf', [part], limits);
  const recordOf = (name = ANY, value = ANY, limits = undefined) => limited('recordOf', [name, value], limits);
  const setOf = (part = ANY, limits = undefined) => limited('setOf', [part], limits);
  const bagOf = (key = ANY, count = ANY, limits = undefined) => limited('bagOf', [key, count], limits);
  const mapOf = (key = ANY, value = ANY, limits = undefined) => limited('mapOf', [key, value], limits);
  const splitArray = (required, optional = undefined, rest = undefined) => split('splitArray', required, optional, rest);
  const splitRecord = (required, optional = undefined, rest = undefined) => split('splitRecord', required, optional, rest);

  const methodGuard = (callKind, args) => {
    const make = (optional, rest, returns) => {
      if (callKind === 'sync' && [...args, ...(optional ?? []), rest].some(part => tagOf(part) === 'guard:awaitArgGuard')) {
        throw new TheTypeError('M.await is for the arguments of M.callWhen: a method that is called at once cannot wait');
      }
      return makeTagged('guard:methodGuard', {
        callKind, argGuards: args, optionalArgGuards: optional, restArgGuard: rest, returnGuard: returns,
      });
    };
    const end = (optional, rest) => ({ returns: (returned = UNDEFINED) => make(optional, rest, returned) });
    return harden({
      optional: (...optional) => harden({ rest: rest => harden(end(optional, rest)), ...end(optional, undefined) }),
      rest: rest => harden(end(undefined, rest)),
      ...end(undefined, undefined),
    });
  };
  const interfaceGuard = (interfaceName, methods, options = {}) => {
    const methodGuards = {}, symbols = [];
    for (const key of ownKeys(methods)) {
      if (typeof key === 'symbol') symbols.push([symbolName(key), key, methods[key]]);
      else defineProperty(methodGuards, key, { value: methods[key], enumerable: true });
    }
    const { sloppy = false, defaultGuards = sloppy ? 'passable' : undefined } = options;
    const payload = { interfaceName, methodGuards, defaultGuards };
    if (symbols.length > 0) {
      symbols.sort(([left], [right]) => (left < right ? 1 : -1));
      payload.symbolMethodGuards = makeTagged('copyMap', {
        keys: symbols.map(([, key]) => key), values: symbols.map(([, , guard]) => guard),
      });
    }
    const made = makeTagged('guard:interfaceGuard', payload);
    host.guard(made);
    return made;
  };

  const M = {
    any: () => ANY, and: (...parts) => matcher('and', parts), or, not,
    scalar: () => matcher('scalar', undefined), key: () => matcher('key', undefined), pattern: () => matcher('pattern', undefined),
    kind, boolean: () => kind('boolean'), number: () => kind('number'), error: () => kind('error'),
    undefined: () => UNDEFINED, null: () => null,
    remotable: (label = undefined) => (label === undefined ? kind('remotable') : matcher('remotable', { label })),
    promise: (label = undefined) => (label === undefined ? kind('promise') : matcher('promise', { label })),
    bigint: limits => limited('bigint', [], limits), nat: limits => limited('nat', [], limits),
    string: limits => limited('string', [], limits), symbol: limits => limited('symbol', [], limits),
    byteArray: limits => limited('byteArray', [], limits),
    tagged: (tag = STRING, payload = ANY) => matcher('tagged', [tag, payload]),
    array: limits => arrayOf(ANY, limits), arrayOf, record: limits => recordOf(ANY, ANY, limits), recordOf,
    set: limits => setOf(ANY, limits), setOf, bag: limits => bagOf(ANY, ANY, limits), bagOf,
    map: limits => mapOf(ANY, ANY, limits), mapOf,
    containerHas: (part = ANY, count = 1n, limits = undefined) => limited('containerHas', [part, count], limits),
    lt: key => matcher('lt', key), lte: key => matcher('lte', key), gt: key => matcher('gt', key), gte: key => matcher('gte', key),
    eq, neq: key => not(eq(key)),
    splitArray, splitRecord,
    split: (base, rest = undefined) => (isArray(base) ? splitArray(base, rest === undefined ? undefined : [], rest)
      : splitRecord(base, rest === undefined ? undefined : {}, rest)),
    partial: (base, rest = undefined) => (isArray(base) ? splitArray([], base, rest) : splitRecord({}, base, rest)),
    eref: part => or(part, kind('promise')), opt: part => or(UNDEFINED, part),
    refine: name => matcher('refine', name),
    call: (...args) => methodGuard('sync', args), callWhen: (...args) => methodGuard('async', args),
    await: part => makeTagged('guard:awaitArgGuard', { argGuard: part }),
    raw: () => makeTagged('guard:rawGuard', {}),
    interface: interfaceGuard,
  };

  const tagOf = value => {
    const parts = isObject(value) ? taggedParts.get(value) : undefined;
    return parts === undefined ? undefined : parts[0];
  };
  const payloadOf = value => taggedParts.get(value)[1];
  // The check sees `undefined` in place of an argument whose guard is `M.raw()`.
  const checked = (guards, rest, args) => args.map((arg, at) =>
    (tagOf(at < guards.length ? guards[at] : rest) === 'guard:rawGuard' ? undefined : harden(arg)));
  const guardedMethod = (number, key, guard, method, context) => {
    const { callKind, argGuards, optionalArgGuards = [], restArgGuard, returnGuard } = payloadOf(guard);
    const guards = [...argGuards, ...optionalArgGuards];
    const rawResult = tagOf(returnGuard) === 'guard:rawGuard';
    const checkResult = result => {
      if (!rawResult) host.checkResult(number, key, harden(result));
      return result;
    };
    const run = args => {
      host.checkArguments(number, key, checked(guards, restArgGuard, args));
      return apply(method, context, args);
    };
    if (callKind === 'sync') return { [key]: (...args) => checkResult(run(args)) }[key];
    return {
      [key]: (...args) => {
        const awaited = args.map((arg, at) => (tagOf(guards[at]) === 'guard:awaitArgGuard' ? plainPromise(arg) : undefined));
        let settled = ThePromise.resolve(undefined);
        awaited.forEach((promise, at) => {
          if (promise === undefined) return;
          then(promise, ignore, ignore);
          settled = then(settled, () => then(promise, value => { args[at] = value; }));
        });
        return then(then(settled, () => run(args)), checkResult);
      },
    }[key];
  };
  const makeExo = (tag, guard, methods) => {
    if (typeof tag !== 'string') throw new TheTypeError('makeExo needs a name: a string');
    if (!isObject(methods) || isProxy(methods)) throw new TheTypeError('makeExo needs a record of methods');
    const self = {};
    const context = { self };
    const number = guard === undefined ? undefined : host.guard(guard);
    const { interfaceName = tag, methodGuards = {}, symbolMethodGuards, defaultGuards = guard === undefined ? 'passable' : undefined } =
      guard === undefined ? {} : payloadOf(guard);
    const symbolGuards = new TheMap();
    if (symbolMethodGuards !== undefined) {
      const { keys, values } = payloadOf(symbolMethodGuards);
      keys.forEach((key, at) => symbolGuards.set(key, values[at]));
    }
    const guardOf = key => {
      if (typeof key === 'symbol') return symbolGuards.get(key);
      const property = getOwnPropertyDescriptor(methodGuards, key);
      return property === undefined ? undefined : property.value;
    };
    const has = key => getOwnPropertyDescriptor(methods, key) !== undefined;
    const missing = [...ownKeys(methodGuards), ...symbolGuards.keys()].filter(key => !has(key)).map(key => (typeof key === 'symbol' ? symbolName(key) : key));
    if (missing.length > 0) throw new TheError(`methods ${JSON.stringify(missing)} not implemented by ${quote(tag)}`);
    const stray = ownKeys(methods).filter(key => guardOf(key) === undefined && defaultGuards === undefined).map(key => (typeof key === 'symbol' ? symbolName(key) : key));
    if (stray.length > 0) throw new TheError(`methods ${JSON.stringify(stray)} not guarded by ${quote(interfaceName)}`);
    for (const key of ownKeys(methods)) {
      const { value: method } = getOwnPropertyDescriptor(methods, key);
      if (typeof method !== 'function') throw new TheTypeError(`makeExo: ${shownName(key)} is no method`);
      const own = guardOf(key);
      let made;
      if (own !== undefined) made = guardedMethod(number, key, own, method, context);
      else if (defaultGuards === 'raw') made = { [key]: (...args) => apply(method, context, args) }[key];
      else {
        made = {
          [key]: (...args) => {
            host.checkPassable(harden(args));
            const result = apply(method, context, args);
            host.checkPassable(harden([result]));
            return result;
          },
        }[key];
      }
      defineProperty(self, key, { value: made, enumerable: true });
    }
    if (guard !== undefined && !has('__getInterfaceGuard__')) {
      defineProperty(self, '__getInterfaceGuard__', { value: () => guard });
    }
    declare(`Alleged: ${tag}`, self);
    if (number !== undefined) guardNumbers.set(self, number);
    harden(context);
    return self;
  };
