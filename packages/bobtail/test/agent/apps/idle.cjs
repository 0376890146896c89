/** A program that serves nothing. */
setTimeout(() => console.log('done'), 1);
