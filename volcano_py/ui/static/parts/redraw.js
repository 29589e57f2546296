// Draws at most once a frame, whatever has changed.

let draw = () => {};
let due = false;

/** What draws the page. */
export const drawWith = (work) => {
  draw = work;
};

export function redraw() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    draw();
  });
}
