  // `harden` freezes an object and everything that can be reached from it.
  const hardened = new WeakSet();
  const hardenedHas = WeakSet.prototype.has, hardenedAdd = WeakSet.prototype.add;
  const isTypedArray = value => apply(typedArrayTag, value, []) !== undefined;
  const harden = root => {
    if (!isObject(root) || apply(hardenedHas, hardened, [root])) return root;
    const found = new TheSet();
    found.add(root);
    // The loop also visits the objects that are added to the set while it runs.
    for (const each of found) {
      const consider = next => {
        if (isObject(next) && !apply(hardenedHas, hardened, [next])) found.add(next);
      };
      // A typed array cannot be frozen, because its elements stay writable. It can only be made non-extensible.
      if (isTypedArray(each)) preventExtensions(each);
      else freeze(each);
      consider(getPrototypeOf(each));
      for (const key of ownKeys(each)) {
        const property = getOwnPropertyDescriptor(each, key);
        if (property === undefined) continue;
        consider(property.value);
        consider(property.get);
        consider(property.set);
      }
    }
    for (const each of found) apply(hardenedAdd, hardened, [each]);
    return root;
  };
