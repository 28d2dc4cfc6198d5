// A purse that says what is wrong with an amount.

export interface Purse {
  put(amount: number): number;
}

const enum Least {
  Coin = 1,
}

export const purse = (): Purse => {
  let held = 0;
  return Far('Purse', {
    put(amount: number): number {
      if (amount < Least.Coin) {
        throw new RangeError('less than a coin');
      }
      held += amount;
      return held;
    },
  });
};

declare const Far: <T>(name: string, methods: T) => T;
