// src/purse.ts
var purse = () => {
  let held = 0;
  return Far("Purse", {
    put(amount) {
      if (amount < 1 /* Coin */) {
        throw new RangeError("less than a coin");
      }
      held += amount;
      return held;
    }
  });
};

// src/index.ts
var make = (powers, context, { env }) => {
  const args = { first: Number(env["FIRST"] ?? "0") };
  const made = purse();
  made.put(args.first);
  return made;
};
export {
  make
};
//# sourceMappingURL=data:application/json;base64,ewogICJ2ZXJzaW9uIjogMywKICAic291cmNlcyI6IFsic3JjL3B1cnNlLnRzIiwgInNyYy9pbmRleC50cyJdLAogICJtYXBwaW5ncyI6ICI7QUFVTyxJQUFNLFFBQVEsTUFBYTtBQUNoQyxNQUFJLE9BQU87QUFDWCxTQUFPLElBQUksU0FBUztBQUFBLElBQ2xCLElBQUksUUFBd0I7QUFDMUIsVUFBSSxTQUFTLGNBQVk7QUFDdkIsY0FBTSxJQUFJLFdBQVcsa0JBQWtCO0FBQUEsTUFDekM7QUFDQSxjQUFRO0FBQ1IsYUFBTztBQUFBLElBQ1Q7QUFBQSxFQUNGLENBQUM7QUFDSDs7O0FDakJPLElBQU0sT0FBTyxDQUFDLFFBQWlCLFNBQWtCLEVBQUUsSUFBSSxNQUE4QztBQUMxRyxRQUFNLE9BQWEsRUFBRSxPQUFPLE9BQU8sSUFBSSxPQUFPLEtBQUssR0FBRyxFQUFFO0FBQ3hELFFBQU0sT0FBTyxNQUFNO0FBQ25CLE9BQUssSUFBSSxLQUFLLEtBQUs7QUFDbkIsU0FBTztBQUNUOyIsCiAgIm5hbWVzIjogW10KfQo=
