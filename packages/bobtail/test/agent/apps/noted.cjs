/** What an application observes by name, to be printed and compared without and with the agent. */

const seen = {};
const note = (name, value) => {
  seen[name] = value;
};

/** What a call throws. */
const thrown = (call) => {
  try {
    call();
    return 'nothing';
  } catch (error) {
    return `${error.name} ${error.code} ${error.message}`;
  }
};

module.exports = { seen, note, thrown };
