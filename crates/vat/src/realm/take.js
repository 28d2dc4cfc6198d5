// Takes the intrinsics that the realm itself needs, before any guest code runs.
// All pieces form one function. It takes the functions of the host and returns the functions that the host calls.
'use strict';
(host => {
  const {
    create, defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf, isExtensible, preventExtensions,
    setPrototypeOf,
  } = Object;
  const { apply, ownKeys } = Reflect;
  const { isArray } = Array;
  const TheError = Error, TheTypeError = TypeError, ThePromise = Promise, TheSymbol = Symbol, TheBigInt = BigInt;
  const TheWeakRef = WeakRef, TheRegistry = FinalizationRegistry, TheMap = Map, TheWeakMap = WeakMap, TheSet = Set;
  const objectPrototype = Object.prototype, functionPrototype = Function.prototype, promisePrototype = ThePromise.prototype;
  const promiseThen = promisePrototype.then;
  const symbolFor = TheSymbol.for, symbolKeyFor = TheSymbol.keyFor;
  const { toStringTag, asyncIterator } = TheSymbol;
  const parseDirectly = eval;
  const stackOf = getOwnPropertyDescriptor(TheError.prototype, 'stack').get;
  const typedArrayTag = getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), toStringTag).get;
  const { isProxy, isPromise } = host;

  // As many lines as the engine gives. A stack trace of this size is a large block of memory. The host checks the
  // stack at each large block, so it sees an error that arises where the stack ends.
  TheError.stackTraceLimit = 64;

  const isObject = value => (typeof value === 'object' && value !== null) || typeof value === 'function';
  // Only for promises that are known to be plain, so that the engine looks up no constructor of a guest's.
  const then = (promise, good, bad) => apply(promiseThen, promise, [good, bad]);
  // Returns a plain promise for any value. A getter of `then` on the value runs in the guest's own turn.
  const plainPromise = value => new ThePromise(resolve => resolve(value));
  const isPlainPromise = value =>
    isObject(value) && isPromise(value) && getPrototypeOf(value) === promisePrototype && ownKeys(value).length === 0;
  const ignore = () => undefined;
