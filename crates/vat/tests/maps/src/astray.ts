console.log('« é 😀 » is on one line with the rest, once this is packed');

const purses: Record<string, { put(amount: number): number }> = {};

purses['mine'].put(1);
