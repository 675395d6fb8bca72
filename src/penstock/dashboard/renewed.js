// A row that comes in on top is found among so many of the rows that are to follow.
const LOOKED_AHEAD = 8;

export default {
  template: "<div></div>",
  props: { content: String },
  mounted() {
    this.renew();
    document.addEventListener("selectionchange", this.renew);
  },
  unmounted() {
    document.removeEventListener("selectionchange", this.renew);
  },
  watch: {
    content() {
      this.renew();
    },
  },
  methods: {
    renew() {
      const waits = this.content !== this.shown && isMarked(this.$el);
      this.$el.toggleAttribute("data-waits", waits);
      if (waits || this.content === this.shown) return;
      const wanted = document.createElement("div");
      wanted.setHTML(this.content);
      become(this.$el, wanted);
      this.shown = this.content;
    },
  },
};

/** Says whether some text is marked in an element: whoever marked it is about to copy it. */
function isMarked(element) {
  const selection = getSelection();
  return !selection.isCollapsed && selection.containsNode(element, true);
}

/** Gives an element the content of another; nodes that can stay do, with all that is theirs. */
function become(element, wanted) {
  const nodes = [...wanted.childNodes];
  nodes.forEach((next, place) => {
    const now = element.childNodes[place];
    const ahead = nodes.slice(place + 1, place + 1 + LOOKED_AHEAD);
    if (!now) element.append(next);
    else if (now.isEqualNode(next)) return;
    else if (ahead.some((each) => each.isEqualNode(now))) now.before(next);
    else if (now.nodeName !== next.nodeName) now.replaceWith(next);
    else if (now.nodeType !== Node.ELEMENT_NODE) now.data = next.data;
    else {
      takeAttributes(now, next);
      become(now, next);
    }
  });
  while (element.childNodes.length > nodes.length) element.lastChild.remove();
}

function takeAttributes(element, wanted) {
  for (const { name } of [...element.attributes]) {
    // Whether details are open is for the reader to say.
    if (name !== "open" && !wanted.hasAttribute(name)) element.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  }
}
