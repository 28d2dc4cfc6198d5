/** The headings of a text in Markdown, down to a depth. */
export const headings = (text, deepest) =>
  text
    .split('\n')
    .filter(line => /^#+ /.test(line) && line.indexOf(' ') <= deepest)
    .map(line => line.replace(/^#+ /, ''));
