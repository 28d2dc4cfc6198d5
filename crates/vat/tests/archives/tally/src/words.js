export const article = 'the';
