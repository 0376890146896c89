/** Commands as they stand in texts: which of them are Bobtail's, and what their words are. */

/** A word, an operator that ends a command, or the rest of a line that is a comment. */
const TOKEN = new RegExp(
  [
    String.raw`(?<space>\s+)`,
    String.raw`(?<comment>#[^\n]*)`,
    String.raw`(?<operator>&&|\|\||[|;&<>()]+)`,
    String.raw`(?<word>(?:\\[\s\S]|'[^']*'|"(?:\\[\s\S]|[^"\\])*"|\$\([^)]*\)|[^\s'"\\|;&<>()])+)`,
  ].join('|'),
  'gy',
);

/** The commands of a script, each as its words without quotes. */
export function commandsOf(script) {
  const commands = [];
  for (const line of script.replace(/\\\n\s*/g, ' ').split('\n')) {
    let words = [];
    let redirected = false;
    for (const { groups } of line.matchAll(TOKEN)) {
      if (groups.operator !== undefined) {
        // What follows < or > is a file and no word of the command.
        redirected = /[<>]/.test(groups.operator);
        if (!redirected) {
          commands.push(words);
          words = [];
        }
      } else if (groups.word !== undefined) {
        if (redirected) redirected = false;
        else words.push(unquoted(groups.word));
      }
    }
    commands.push(words);
  }
  return commands.filter(({ length }) => length > 0);
}

function unquoted(word) {
  return word.replace(
    /'([^']*)'|"((?:\\[\s\S]|[^"\\])*)"|\\([\s\S])/g,
    (_, single, double, one) => single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? one,
  );
}

/**
 * The words after `bobtail`, where a command runs it: by that name or through npx, also behind
 * `sudo`, `time -v` and assignments; undefined where it runs something else.
 */
export function argumentsOfBobtail(words) {
  const start = words.findIndex(
    (word) => !/^(\w+=.*|\$|sudo|(\/\S*\/)?time|-v|exec|npx|if|!|then|do)$/.test(word),
  );
  return words[start] === 'bobtail' ? words.slice(start + 1) : undefined;
}
