// What the realm itself needs of the intrinsics is taken here, before any guest code runs.
// All of it is one function: the host's functions go in, what the host calls comes out.
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

  // As many lines as the engine gives: an account of this size is no small block, so the host sees an error that arises
  // where the stack ends.
  TheError.stackTraceLimit = 64;

  const isObject = value => (typeof value === 'object' && value !== null) || typeof value === 'function';
  // Only for promises that are known to be plain: no constructor of a guest's is looked up.
  const then = (promise, good, bad) => apply(promiseThen, promise, [good, bad]);
  // A plain promise for anything. What the thing does when it is asked for its `then` happens to the guest's turn.
  const plainPromise = value => new ThePromise(resolve => resolve(value));
  const isPlainPromise = value =>
    isObject(value) && isPromise(value) && getPrototypeOf(value) === promisePrototype && ownKeys(value).length === 0;
  const ignore = () => undefined;
