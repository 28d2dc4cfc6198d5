import { mark } from './lib/mark.js';
export default who => `good day, ${who}${mark}`;
export const loud = text => text.toUpperCase();
