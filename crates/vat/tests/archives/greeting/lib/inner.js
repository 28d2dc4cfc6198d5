export { mark as inner } from './mark.js';
