/** The oldest Node that both the command line and the agent run on; loaded before all else. */
export const NODE_MAJOR_MIN = 20;
