/** An argument of a component's process that loads its code, and begins when its parent sends it a message. */
export const beginsWhenTold = '--begins-when-told';
