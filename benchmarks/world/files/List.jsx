import React from "react";

export class List extends React.Component {
  state = { open: false };

  toggle = () => {
    this.setState({ open: !this.state.open });
  };

  render() {
    const { items } = this.props;
    return (
      <>
        <button onClick={this.toggle}>
          {this.state.open ? "close" : "open"}
        </button>
        {this.state.open && (
          <ul>
            {items.map((item) => (
              <li key={item.name}>{item.name}</li>
            ))}
          </ul>
        )}
      </>
    );
  }
}
