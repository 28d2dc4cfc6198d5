// A purse that says what is wrong with an amount.
export const purse = () => {
    let held = 0;
    return Far('Purse', {
        put(amount) {
            if (amount < 1 /* Least.Coin */) {
                throw new RangeError('less than a coin');
            }
            held += amount;
            return held;
        },
    });
};
//# sourceMappingURL=purse.js.map