// The environment for helper processes of a planted server: feeders and upstream services.
//
// They stand for other machines, so they must not be recorded themselves: without this the
// preload in NODE_OPTIONS would be inherited and their requests would mix into the report.
'use strict';

/** This process's environment without what makes a Node process record itself. */
function plainEnvironment() {
  const environment = { ...process.env };
  for (const name of Object.keys(environment)) {
    if (name === 'NODE_OPTIONS' || name.startsWith('BOBTAIL_')) delete environment[name];
  }
  return environment;
}

module.exports = { plainEnvironment };
