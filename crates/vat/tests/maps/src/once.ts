import { purse } from './purse.js';

const [first, second]: number[] = [2, 0];

const made = purse();
made.put(first);
made.put(second);
