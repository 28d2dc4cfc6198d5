export const mark = '!';
