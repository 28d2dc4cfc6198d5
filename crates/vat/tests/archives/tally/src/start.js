export { one as start } from './one.js';
