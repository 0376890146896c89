/**
 * `NODE_OPTIONS` that loads the agent, with the user's own options kept.
 *
 * Node splits the variable at spaces itself and knows only double quotes, with backslash as the
 * escape inside them; shell quoting rules would break paths with spaces or quotes.
 */

/** The user's options, then `--require <agent>`. */
export function withAgent(userOptions: string | undefined, agentPath: string): string {
  const ours = `--require ${quote(agentPath)}`;
  return userOptions === undefined || userOptions.trim() === ''
    ? ours
    : `${userOptions.trimEnd()} ${ours}`;
}

function quote(path: string): string {
  return `"${path.replace(/[\\"]/g, '\\$&')}"`;
}
